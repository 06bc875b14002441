#!/bin/bash
# parity on a Slurm cluster: an array job with a part a task, and a job behind it that merges and decides.
#
#     examples/ci/slurm.sh submit 4                  # from this repository, once ./parity has built it
#     examples/ci/slurm.sh submit 4 --gres=gpu:1     # what comes behind goes to sbatch, for every part
#
# The records and reports go to $RECORDS, a folder that all nodes see (./parity-records unless set). The state of the last
# job is the verdict: COMPLETED, or FAILED with exit code 100.
set -euo pipefail
root=$(CDPATH='' cd -- "$(dirname -- "${PARITY_RECIPE:-$0}")/../.." && pwd)
parity=${PARITY:-$root/target/release/parity}
records=${RECORDS:-$PWD/parity-records}
cd "$root"

case ${1:-} in
submit)
    parts=${2:?how many parts}
    # sbatch copies the script that it is given: the copy finds the repository by this.
    export PARITY_RECIPE=$root/examples/ci/slurm.sh RECORDS=$records
    mkdir -p "$records"
    array=$(sbatch --parsable --job-name=parity --array="1-$parts" --cpus-per-task=4 \
        --output="$records/shard-%a.log" "${@:3}" "$PARITY_RECIPE" shard)
    # afterany: a part that failed must be missed by the merge, not waited for for ever.
    sbatch --job-name=parity-gate --dependency="afterany:${array%%;*}" --output="$records/gate.log" "$PARITY_RECIPE" gate
    ;;
shard)
    index=$SLURM_ARRAY_TASK_ID
    "$parity" run --backend rocm --jobs "${SLURM_CPUS_PER_TASK:-1}" --shard "$index/$SLURM_ARRAY_TASK_COUNT" \
        --format json --out "$records/shard-$index.json" || [ $? -eq 100 ]
    ;;
gate)
    "$parity" merge "$records"/shard-*.json --out "$records/run.json"
    "$parity" report "$records/run.json" --format html --out "$records/parity.html"
    "$parity" report "$records/run.json" --format junit --out "$records/junit.xml"
    "$parity" gate "$records/run.json" --backend rocm --min 99.5 --per-family 95
    ;;
*)
    echo "usage: slurm.sh submit PARTS [SBATCH OPTIONS]" >&2
    exit 64
    ;;
esac
