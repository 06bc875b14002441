"""Forces and steps of OpenMM's HIP platform, compared with its Reference platform, which computes them in f64 on the host:
`python forces.py`. A line for each; it exits 1 when one is wrong. Needs openmm and openmm-hip-7 of PyPI, numpy, and AMD's HIP runtime."""
import sys

import numpy
import openmm
from openmm import app, unit

PARTICLES, BOX, CUTOFF = 300, 2.4, 0.9
# Of each precision of the platform how far forces and energies may be off, relative to the largest force and to the energy. In double
# precision most are off by 1e-10 and less, but the platform keeps the coefficients of maps and the charges of bonded pairs in single.
LIMITS = {"single": 1e-4, "double": 2e-6}
MAP = 6


class Random:
    """Numbers that single precision holds. That is what the platform keeps most parameters in, whatever its precision."""

    def __init__(self, seed):
        self.of = numpy.random.default_rng(seed)

    def __call__(self, low, high, count=None):
        found = self.of.uniform(low, high, count).astype(numpy.float32) if count else numpy.float32(self.of.uniform(low, high))
        return found.astype(float).tolist()


def chain():
    """A chain that winds through a box, and of each kind of force one, in a group of its own, by name."""
    random = Random(20261127)
    system = openmm.System()
    system.setDefaultPeriodicBoxVectors(*numpy.diag([BOX] * 3).tolist())
    # Places on a grid, off it by a bit, one row after the other.
    side = 7
    grid = numpy.array([(x if y % 2 else side - 1 - x, y, z) for z in range(side) for y in range(side) for x in range(side)])
    positions = (grid[:PARTICLES] + random.of.uniform(-0.15, 0.15, (PARTICLES, 3))) * (BOX / side)
    # As many positive as negative ones.
    charges = random(0.1, 0.5, PARTICLES // 2)
    charges += [-charge for charge in charges]
    for _ in range(PARTICLES):
        system.addParticle(12)
    pairs, triples, quads = ([tuple(range(i, i + n)) for i in range(PARTICLES - n + 1)] for n in (2, 3, 4))
    forces = {
        "bonds": openmm.HarmonicBondForce(),
        "angles": openmm.HarmonicAngleForce(),
        "torsions": openmm.PeriodicTorsionForce(),
        "torsions by cosines": openmm.RBTorsionForce(),
        "torsions by maps": openmm.CMAPTorsionForce(),
        "Ewald sums": openmm.NonbondedForce(),
        "pairs by formula": openmm.CustomNonbondedForce("depth * exp(-r / 0.3) * cos(5 * r); depth = sqrt(depth1 * depth2)"),
        "implicit solvent": openmm.GBSAOBCForce(),
        "bonds by formula": openmm.CustomBondForce("strength * (1 - exp(-2 * (r - 0.3)))^2"),
        "a field by formula": openmm.CustomExternalForce("strength * (sin(3 * x) + cos(2 * y) * z^2)"),
        "several particles by formula": openmm.CustomCompoundBondForce(4, "distance(p1, p4) * (1 + cos(dihedral(p1, p2, p3, p4)))"),
        "groups by formula": openmm.CustomCentroidBondForce(2, "strength * distance(g1, g2)^2"),
        "neighbours by formula": openmm.CustomManyParticleForce(
            3, "c * (1 + 3 * cos(t1) * cos(t2) * cos(t3)) / (r12 * r13 * r23)^3; t1 = angle(p1, p2, p3); t2 = angle(p2, p3, p1);"
            " t3 = angle(p3, p1, p2); r12 = distance(p1, p2); r13 = distance(p1, p3); r23 = distance(p2, p3)",
        ),
    }
    for pair in pairs:
        forces["bonds"].addBond(*pair, random(0.2, 0.4), random(1e3, 1e4))
        forces["bonds by formula"].addBond(*pair, [random(10, 100)])
    for triple in triples:
        forces["angles"].addAngle(*triple, random(1.5, 2.5), random(10, 100))
    forces["torsions by maps"].addMap(MAP, random(-10, 10, MAP * MAP))
    for quad in quads:
        forces["torsions"].addTorsion(*quad, int(random.of.integers(1, 5)), random(-3, 3), random(1, 20))
        forces["torsions by cosines"].addTorsion(*quad, *random(-5, 5, 6))
        forces["several particles by formula"].addBond(quad, [])
    for i in range(0, PARTICLES - 4, 5):
        forces["torsions by maps"].addTorsion(0, i, i + 1, i + 2, i + 3, i + 1, i + 2, i + 3, i + 4)
    ewald, formula, solvent = forces["Ewald sums"], forces["pairs by formula"], forces["implicit solvent"]
    ewald.setNonbondedMethod(openmm.NonbondedForce.PME)
    ewald.setPMEParameters(3.5, 24, 24, 24)
    ewald.setReciprocalSpaceForceGroup(len(forces))
    formula.setNonbondedMethod(openmm.CustomNonbondedForce.CutoffPeriodic)
    solvent.setNonbondedMethod(openmm.GBSAOBCForce.CutoffPeriodic)
    neighbours = forces["neighbours by formula"]
    neighbours.setNonbondedMethod(openmm.CustomManyParticleForce.CutoffPeriodic)
    neighbours.addGlobalParameter("c", 1e-5)
    neighbours.setCutoffDistance(0.5)
    formula.addPerParticleParameter("depth")
    for force in (ewald, formula, solvent):
        force.setCutoffDistance(CUTOFF)
    for force in ("bonds by formula", "a field by formula", "groups by formula"):
        force = forces[force]
        getattr(force, "addPerBondParameter" if hasattr(force, "addPerBondParameter") else "addPerParticleParameter")("strength")
    for i, charge in enumerate(charges):
        ewald.addParticle(charge, random(0.2, 0.3), random(0.1, 1))
        formula.addParticle([random(1, 10)])
        solvent.addParticle(charge, random(0.12, 0.2), random(0.7, 0.9))
        neighbours.addParticle([])
        forces["a field by formula"].addParticle(i, [random(1, 10)])
    ewald.createExceptionsFromBonds(pairs, 0.8, 0.5)
    for i in range(ewald.getNumExceptions()):
        formula.addExclusion(*ewald.getExceptionParameters(i)[:2])
    groups = forces["groups by formula"]
    for i in range(0, PARTICLES, 30):
        groups.addGroup(list(range(i, i + 20)))
    for i in range(groups.getNumGroups() - 1):
        groups.addBond([i, i + 1], [random(1, 10)])
    for group, force in enumerate(forces.values()):
        force.setForceGroup(group)
        system.addForce(force)
    return system, positions, [*forces, "Ewald sums of waves"]


def error(got, right):
    """The largest difference, relative to the largest value."""
    got, right = numpy.asarray(got, float), numpy.asarray(right, float)
    return numpy.abs(got - right).max() / max(numpy.abs(right).max(), 1e-30)


def context(system, positions, precision, integrator=None):
    """A context of the HIP platform, or without a precision of the Reference platform."""
    platform = openmm.Platform.getPlatformByName("HIP" if precision else "Reference")
    integrator = integrator or openmm.VerletIntegrator(0.001)
    made = openmm.Context(system, integrator, platform, *([{"Precision": precision}] if precision else []))
    made.setPositions(positions)
    return made


def state(made, groups=-1):
    """Forces, energy, positions and velocities of a context."""
    found = made.getState(positions=True, velocities=True, forces=True, energy=True, groups=groups)
    arrays = (found.getForces(asNumpy=True), found.getPositions(asNumpy=True), found.getVelocities(asNumpy=True))
    forces, positions, velocities = (array.value_in_unit_system(unit.md_unit_system) for array in arrays)
    energies = (found.getPotentialEnergy(), found.getKineticEnergy())
    return forces, [energy.value_in_unit(unit.kilojoule_per_mole) for energy in energies], positions, velocities


def kinds_of_force():
    """Each kind of force of the chain in each precision: name, error, limit."""
    system, positions, names = chain()
    reference = context(system, positions, None)
    right = [state(reference, {group}) for group in range(len(names))]
    for precision, limit in LIMITS.items():
        made = context(system, positions, precision)
        for group, name in enumerate(names):
            forces, energies, _, _ = state(made, {group})
            off = max(error(forces, right[group][0]), error(energies[0], right[group][1][0]))
            yield f"{name} {precision}", off, limit


def argon():
    """Atoms of argon near a lattice, which collide."""
    random = numpy.random.default_rng(5)
    side, box = 6, 2.3
    system, force = openmm.System(), openmm.NonbondedForce()
    system.setDefaultPeriodicBoxVectors(*numpy.diag([box] * 3).tolist())
    force.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(1)
    force.setUseSwitchingFunction(True)
    force.setSwitchingDistance(0.8)
    for _ in range(side**3):
        system.addParticle(39.95)
        force.addParticle(0, 0.34, 1)
    system.addForce(force)
    grid = numpy.stack(numpy.meshgrid(*[numpy.arange(side)] * 3), -1).reshape(-1, 3)
    positions = (grid + random.uniform(-0.05, 0.05, grid.shape)) * (box / side)
    return system, positions, random.normal(0, 0.3, grid.shape)


def water(field, **settings):
    """Molecules of water in a force field of OpenMM's."""
    field, modeller = app.ForceField(field), app.Modeller(app.Topology(), [])
    modeller.addSolvent(field, boxSize=openmm.Vec3(2, 2, 2) * unit.nanometer)
    settings |= {"nonbondedMethod": app.PME, "nonbondedCutoff": 0.8 * unit.nanometer}
    return field.createSystem(modeller.topology, **settings), modeller.positions


def steps():
    """What some steps lead to: name, error, limit."""
    system, positions, velocities = argon()
    ends = []
    for precision in (None, "double", "single"):
        made = context(system, positions, precision)
        made.setVelocities(velocities)
        before = sum(state(made)[1])
        made.getIntegrator().step(50)
        forces, energies, *motion = state(made)
        ends.append((energies, motion))
        if precision:
            limit = {"double": 1e-7, "single": 1e-4}[precision]
            yield f"argon after 50 steps {precision}", max(error(*pair) for pair in zip(motion, ends[0][1])), limit
            yield f"energies of argon {precision}", error(energies, ends[0][0]), limit
    yield "energy of argon is kept", abs(sum(ends[1][0]) - before) / abs(before), 1e-3
    integrator = openmm.LangevinMiddleIntegrator(120, 50, 0.004)
    integrator.setRandomNumberSeed(11)
    made = context(system, positions, "mixed", integrator)
    integrator.step(60)
    kelvin = 2 * state(made)[1][1] / (3 * len(positions) * 0.00831446)
    yield "temperature of argon", abs(kelvin - 120) / 120, 0.2
    system, positions = water("tip3p.xml")
    ends = []
    for precision in ("mixed", None):
        made = context(system, positions, precision)
        made.getIntegrator().setConstraintTolerance(1e-6)
        made.applyConstraints(1e-6)
        # The platform draws them on the host.
        made.setVelocitiesToTemperature(300, 7)
        made.getIntegrator().step(20)
        ends.append(state(made))
    (forces, energies, places, speeds), right = ends
    yield "water after 20 steps", max(error(places, right[2]), error(speeds, right[3])), 1e-4
    yield "energies of water", error(energies, right[1]), 1e-4
    kept = [system.getConstraintParameters(i) for i in range(system.getNumConstraints())]
    first, second = (numpy.array([entry[i] for entry in kept]) for i in range(2))
    lengths = numpy.array([entry[2].value_in_unit(unit.nanometer) for entry in kept])
    yield "water stays rigid", error(numpy.linalg.norm(places[first] - places[second], axis=1), lengths), 1e-5


def polarized_water():
    """Water whose atoms have multipoles and polarize each other: name, error, limit."""
    system, positions = water("amoeba2018.xml", polarization="mutual", mutualInducedTargetEpsilon=1e-6)
    right, found = (state(context(system, positions, precision)) for precision in (None, "single"))
    yield "forces of polarized water", error(found[0], right[0]), LIMITS["single"]
    yield "energy of polarized water", error(found[1][0], right[1][0]), LIMITS["single"]


def main():
    wrong = 0
    for results in (kinds_of_force(), steps(), polarized_water()):
        for name, off, limit in results:
            # NaN is not within any limit.
            good = bool(off <= limit)
            wrong += not good
            print(f"{name}: {'OK' if good else 'FAIL'}, error {off:.2e}, limit {limit:.0e}", flush=True)
    sys.exit(1 if wrong else 0)


main()
