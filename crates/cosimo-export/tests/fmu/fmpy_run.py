"""Validates FMUs in FMPy and solves their equations with CVode: `fmpy_run.py JOBS RESULTS`, both JSON.

A job has a file, the folder it is unpacked in, a kind, start values, outputs, an interval and a stop; and whether event
mode is used where the FMU steps itself. A result has the problems that validation found and one row per interval, the
time first.
"""

import json
import sys

import fmpy.sundials
from fmpy import read_model_description, simulate_fmu
from fmpy.validation import validate_fmu


class Patient(fmpy.sundials.CVodeSolver):
    """Stiff models take more than FMPy's 500 steps from one row to the next."""

    def __init__(self, **arguments):
        super().__init__(maxNumSteps=100_000, **arguments)


# Where simulate_fmu looks it up.
fmpy.sundials.CVodeSolver = Patient


def run(job):
    problems = validate_fmu(job["file"])
    read_model_description(job["file"], validate_variable_names=True, validate_model_structure=True)
    table = simulate_fmu(
        job["unpacked"],
        fmi_type=job["kind"],
        start_time=0.0,
        stop_time=job["stop"],
        output_interval=job["interval"],
        relative_tolerance=1e-9,
        start_values=job["start_values"],
        output=job["outputs"],
        record_events=False,
        set_input_derivatives=False,
        # CVode looks beyond the end and comes back, which the standard forbids where an end was told.
        set_stop_time=False,
        use_event_mode=job["event_mode"],
        early_return_allowed=job["event_mode"],
    )
    names = ["time"] + job["outputs"]
    # Steps of co-simulation that ended early at an event are recorded too.
    regular = [row for row in table if abs(row["time"] / job["interval"] % 1 - 0.5) > 0.499999]
    return {"problems": problems, "rows": [[float(row[name]) for name in names] for row in regular]}


with open(sys.argv[1], encoding="utf-8") as file:
    jobs = json.load(file)
with open(sys.argv[2], "w", encoding="utf-8") as file:
    json.dump([run(job) for job in jobs], file)
