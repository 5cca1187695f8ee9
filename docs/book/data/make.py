"""Makes the data files of the book's page on files (docs/book/files.md), with pandas, PyArrow and XlsxWriter."""
import datetime as d
import decimal
import pathlib

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import xlsxwriter

here = pathlib.Path(__file__).parent

# Semicolons, decimal commas, a unit in the header, Latin-1: as a laboratory's Excel in Germany saves a table.
(here / "doses.csv").write_bytes(
    "Dose (µM);Response (%);Valid\n0,1;2,5;yes\n0,3;9,75;yes\n1;31,0;yes\n3;68,5;no\n10;92,25;yes\n".encode("latin-1")
)
# Thousands, in quotes because of the commas; sums below the table are comments.
(here / "cities.csv").write_text(
    'City,Population,Area (km²)\nOslo,"717,710",480.8\n"Bergen, Vestland","291,940",464.7\n'
    'Vadsø,"5,620","1,258.1"\n# Source: made up for this page\n'
)
# Five spellings of a missing cell, one of them the agency's own.
(here / "weather.csv").write_text(
    "Station: 1234\nElevation: 56 m\ndate,t_max,t_min,rain\n2024-03-01,11.2,3.4,0\n2024-03-02,NA,2.9,-999\n"
    "2024-03-03,9.8,,1.2\n2024-03-04,N/A,null,-\n2024-03-05,12.1,4.0,0.4\n"
)
# Blanks in columns, comments: as instruments and gnuplot have it.
(here / "spectrum.dat").write_text(
    "# spectrometer 7, 2024-05-02\n#   nm   counts\n  400.0    120\n  410.0    355\n  420.0   1210\n  430.0    640\n"
    "  440.0    180   # shutter moved\n"
)
# A title above, notes below, days first in dates: as an agency publishes a series.
(here / "gauge.csv").write_text(
    "Gauge 7 at the mill\nDay,Level (cm)\n29/02/2024,212.5\n01/03/2024,-4\n02/03/2024,None\nSource: made up for this page\n"
    "Levels are above the datum of 1950, and those since March are provisional\n"
)
# A tab, quotes and line breaks in them.
(here / "survey.tsv").write_text(
    'id\tage\tsmoker\tremark\n1\t34\tno\t"said ""never"""\n2\t51\tyes\t"two lines:\nsince 1990"\n3\t\tno\t\n'
)
# Apostrophes between thousands, UTF-16 with its mark: as "Unicode text" of a Swiss Excel.
(here / "budget.txt").write_text("Jahr\tBetrag (CHF)\n2022\t1'204'500.50\n2023\t1'310'000.00\n", encoding="utf-16")

# A workbook with a title above the table, dates, an empty cell, a formula and a second sheet.
book = xlsxwriter.Workbook(here / "lab.xlsx", {"default_date_format": "yyyy-mm-dd"})
sheet = book.add_worksheet("Doses")
sheet.write("A1", "Plate 12")
sheet.write_row("A3", ["Day", "Dose (µM)", "Signal", "Used"])
for i, (day, dose, signal, used) in enumerate(
    [(1, 0.5, 12, True), (2, 1.0, 25, True), (3, 2.0, None, False), (4, 4.0, 81, True)]
):
    sheet.write_datetime(3 + i, 0, d.datetime(2024, 3, day))
    sheet.write(3 + i, 1, dose)
    if signal is not None:
        sheet.write(3 + i, 2, signal)
    sheet.write(3 + i, 3, used)
plan = book.add_worksheet("Plan B")
plan.write_row("A1", ["step", "minutes"])
plan.write_row("A2", ["mix", 5])
plan.write_row("A3", ["wait", 90])
plan.write_formula("B4", "=SUM(B2:B3)", None, 95)
plan.write("A4", "all")
book.close()

# Columns of several types, some missing; a dictionary, a list that no field asks for.
table = pa.table({
    "time": pa.array([d.datetime(2024, 3, 1, 12, 0), d.datetime(2024, 3, 1, 12, 0, 30), None], pa.timestamp("ms", "UTC")),
    "day": pa.array([d.date(2024, 3, 1), d.date(2024, 3, 2), None], pa.date32()),
    "value": pa.array([1.5, None, float("nan")], pa.float64()),
    "count": pa.array([3, 4, 5], pa.int32()),
    "price": pa.array([decimal.Decimal("10.50"), decimal.Decimal("20.25"), decimal.Decimal("0.99")]),
    "site": pa.array(["north", "south", "north"]).dictionary_encode(),
    "ok": pa.array([True, False, True]),
    "parts": pa.array([[1], [], [2, 3]]),
})
pq.write_table(table, here / "sensor.parquet", compression="zstd", write_page_checksum=True)
pyarrow.feather.write_feather(table.drop(["parts"]), here / "sensor.feather")
