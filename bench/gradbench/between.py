"""Connects an eval of GradBench with a tool, and prints a line for each evaluation: between.py EVAL TOOL [OPTIONS]

The line has the function, the description, whether the eval found the output valid, and the median of the times.
The exit status is 1 if something was not valid, or the tool did not do it.
"""

import json
import shlex
import statistics
import subprocess
import sys
import time


def start(words):
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def main(script, tool, *options):
    eval_process, tool_process = start([sys.executable, script, *options]), start(shlex.split(tool))
    answers, bad, count = {}, 0, 0
    began = time.monotonic()
    for line in eval_process.stdout:
        message = json.loads(line)
        tool_process.stdin.write(line)
        tool_process.stdin.flush()
        answer = tool_process.stdout.readline()
        if not answer:
            print(f"the tool ended at {message['kind']} {message.get('function', '')}", flush=True)
            bad += 1
            break
        eval_process.stdin.write(answer)
        eval_process.stdin.flush()
        response = json.loads(answer)
        name = message.get("module", "")
        match message["kind"]:
            case "define":
                module = name
                if not response["success"]:
                    print(f"{name}: not defined: {response.get('error')}", flush=True)
                    bad += 1
            case "evaluate":
                what = f"{name} {message['function']} {message.get('description', '')}"
                times = [t["nanoseconds"] for t in response.get("timings", []) if t["name"] == "evaluate"]
                compiled = [t["nanoseconds"] for t in response.get("timings", []) if t["name"] == "compile"]
                answers[message["id"]] = what, times, compiled
                if not response["success"]:
                    print(f"{what}: failed: {response.get('error')}", flush=True)
                    bad += 1
            case "analysis":
                what, times, compiled = answers[message["of"]]
                count += 1
                verdict = "valid" if message["valid"] else "INVALID"
                compiled = f", compiled in {compiled[0] / 1e6:.1f} ms" if compiled else ""
                print(f"{what}: {verdict}, {statistics.median(times) / 1e6:.4f} ms{compiled}", flush=True)
                if not message["valid"]:
                    print(message.get("error", "")[:2000], flush=True)
                    bad += 1
    tool_process.stdin.close()
    tool_process.wait()
    bad += eval_process.wait() != 0
    print(f"{script}: {count} outputs, {bad} bad, {time.monotonic() - began:.0f} s", flush=True)
    sys.exit(1 if bad or not count else 0)


main(*sys.argv[1:])
