#!/bin/sh
# Runs every script of this folder: each holds something that simsched writes or reads against the real
# program that reads or writes it. They install what they need into $CLIENTS_DIR (default: target/clients).
cd "$(dirname "$0")" || exit 2
failed=
for script in ./*.sh; do
    [ "$script" = ./run.sh ] && continue
    echo "== $script"
    "$script" || failed="$failed $script"
done
if [ -n "$failed" ]; then
    echo "failed:$failed"
    exit 1
fi
echo "all clients agree"
