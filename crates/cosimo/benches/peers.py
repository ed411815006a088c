"""Other coordinators on the ring of `fmu.rs`, as sides of that benchmark.

    python3 -m venv target/peers
    target/peers/bin/pip install fmpy libcosimpy ecospy tbb
    peers.py PEER FMU N

A line with a number takes so many steps and is answered with their seconds, the line `values` with the bits of all
outputs. All three step everybody with the outputs of the step before, as Cosimo's `jacobi` does. What the time
contains beside the coordination of N units: one call from Python per step (fmpy), or one per question (the others).
"""

import copy
import ctypes
import os
import shutil
import struct
import sys
import tempfile
import time
from pathlib import Path

SIZE = 1e-3
WIRES = (("a", "u"), ("b", "v"))
REFERENCE = {"u": 0, "v": 1, "a": 2, "b": 3, "a0": 4, "b0": 5}


def starts(k):
    return {"a0": 1.0 + k / 64, "b0": 0.5}


class FmpyContainer:
    """FMPy's container FMU, compiled code that FMPy packs; driven here step by step."""

    def __init__(self, fmu, units):
        import fmpy
        from fmpy.container_fmu.cli import create_container_fmu
        from fmpy.container_fmu.config import Component, Configuration, Connection
        from fmpy.fmi2 import FMU2Slave
        from fmpy.model_description import CoSimulation, ModelDescription, ModelVariable, Unknown

        about = fmpy.read_model_description(fmu)
        variables = {variable.name: variable for variable in about.modelVariables}
        # The container speaks of wires in the words of FMI 3.0 only.
        ends = {name: copy.copy(variables[name]) for wire in WIRES for name in wire}
        for end in ends.values():
            end.type = "Float64"
        members = [Component(name=f"r{k}", filename=Path(fmu), modelDescription=about) for k in range(units)]
        shown, mappings, self.outputs = [], {}, []
        for k, member in enumerate(members):
            for name in ("a0", "b0", "a", "b"):
                parameter = name in ("a0", "b0")
                variable = ModelVariable(name=f"r{k}_{name}", valueReference=len(shown))
                variable.type = "Real"
                variable.causality = "parameter" if parameter else "output"
                variable.variability = "tunable" if parameter else "continuous"
                variable.initial = "exact" if parameter else "calculated"
                variable.start = repr(starts(k)[name]) if parameter else None
                if not parameter:
                    self.outputs.append(len(shown))
                shown.append(variable)
        # Hashable only by identity, which is how the package itself uses them.
        for variable in shown:
            k, name = variable.name[1:].split("_")
            mappings[variable] = [(members[int(k)], variables[name])]
        connections = [
            Connection(
                startElement=members[k - 1],
                startConnectors=[ends[start]],
                endElement=members[k],
                endConnectors=[ends[end]],
            )
            for k in range(units)
            for start, end in WIRES
        ]
        description = ModelDescription()
        description.fmiVersion = "2.0"
        description.modelName = "ring"
        description.guid = description.instantiationToken = "{ring}"
        description.coSimulation = CoSimulation()
        description.coSimulation.modelIdentifier = "container_fmu"
        description.coSimulation.canHandleVariableCommunicationStepSize = True
        description.coSimulation.fixedInternalStepSize = SIZE
        description.modelVariables = shown
        description.outputs = [Unknown(variable=shown[reference]) for reference in self.outputs]
        self.folder = tempfile.mkdtemp()
        packed = Path(self.folder) / "ring.fmu"
        inside = Path(self.folder) / "inside"
        inside.mkdir()
        configuration = Configuration(
            parallelDoStep=False,
            modelDescription=description,
            components=members,
            connections=connections,
            variableMappings=mappings,
        )
        create_container_fmu(configuration, inside, packed)
        self.unit = FMU2Slave(
            guid="{ring}",
            unzipDirectory=fmpy.extract(packed, os.path.join(self.folder, "run")),
            modelIdentifier="container_fmu",
            instanceName="ring",
        )
        self.unit.instantiate()
        self.unit.setupExperiment(startTime=0.0)
        self.unit.enterInitializationMode()
        self.unit.exitInitializationMode()
        self.done = 0

    def step(self, steps):
        step = self.unit.doStep
        for done in range(self.done, self.done + steps):
            step(done * SIZE, SIZE)
        self.done += steps

    def values(self):
        # The container's own time is the first of its variables.
        return self.unit.getReal([1 + output for output in self.outputs])

    def close(self):
        self.unit.terminate()
        self.unit.freeInstance()
        shutil.rmtree(self.folder)


class Libcosim:
    """libcosim of the Open Simulation Platform, its fixed-step algorithm."""

    def __init__(self, fmu, units):
        from libcosimpy.CosimExecution import CosimExecution
        from libcosimpy.CosimObserver import CosimObserver
        from libcosimpy.CosimSlave import CosimLocalSlave

        self.units = units
        self.execution = CosimExecution.from_step_size(int(SIZE * 1e9))
        # Kept: the package frees what it made when Python forgets it.
        self.members = [CosimLocalSlave(fmu_path=fmu, instance_name=f"r{k}") for k in range(units)]
        self.indices = [self.execution.add_local_slave(member) for member in self.members]
        for k, index in enumerate(self.indices):
            for name, value in starts(k).items():
                self.execution.real_initial_value(index, REFERENCE[name], value)
            for start, end in WIRES:
                self.execution.connect_real_variables(
                    self.indices[k - 1], REFERENCE[start], index, REFERENCE[end]
                )
        self.execution.real_time_simulation_enabled(False)
        self.observer = None
        self.make_observer = CosimObserver.create_last_value

    def step(self, steps):
        if not self.execution.step(step_count=steps):
            raise RuntimeError("libcosim does not step")

    def values(self):
        # Added only when it is wanted, so that nothing is observed while time is taken.
        if self.observer is None:
            self.observer = self.make_observer()
            self.execution.add_observer(self.observer)
        wanted = [REFERENCE["a"], REFERENCE["b"]]
        return [value for index in self.indices for value in self.observer.last_real_values(index, wanted)]

    def close(self):
        pass


class Ecos:
    """Ecos, its fixed-step algorithm."""

    def __init__(self, fmu, units):
        # Its library wants this one, which `pip install tbb` brings.
        threads = Path(sys.prefix) / "lib/libtbb.so.12"
        if threads.exists():
            ctypes.CDLL(str(threads), mode=ctypes.RTLD_GLOBAL)
        from ecospy import EcosSimulation, EcosSimulationStructure

        structure = EcosSimulationStructure()
        for k in range(units):
            structure.add_model(f"r{k}", fmu)
        for k in range(units):
            for start, end in WIRES:
                structure.make_real_connection(f"r{(k - 1) % units}::{start}", f"r{k}::{end}")
        parameters = {f"r{k}::{name}": value for k in range(units) for name, value in starts(k).items()}
        structure.add_parameter_set("ring", parameters)
        self.units = units
        self.simulation = EcosSimulation(step_size=SIZE, structure=structure)
        self.simulation.init(parameter_set="ring")

    def step(self, steps):
        self.simulation.step(steps)

    def values(self):
        return [self.simulation.get_real(f"r{k}::{name}") for k in range(self.units) for name in ("a", "b")]

    def close(self):
        self.simulation.terminate()


PEERS = {"fmpy-container": FmpyContainer, "libcosimpy": Libcosim, "ecospy": Ecos}


def main():
    name, fmu, units = sys.argv[1:]
    # The libraries write to standard output as they like; answers go where they cannot.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    ring = PEERS[name](fmu, int(units))
    for line in sys.stdin:
        if line == "values\n":
            answer = " ".join(struct.pack(">d", value).hex() for value in ring.values())
        else:
            steps = int(line)
            begun = time.perf_counter()
            ring.step(steps)
            answer = f"{time.perf_counter() - begun:.9e}"
        print(answer, file=answers, flush=True)
    ring.close()


main()
