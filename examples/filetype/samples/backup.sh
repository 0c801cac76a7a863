#!/bin/sh
# copy a folder to a dated archive and keep the newest seven
set -eu
from=${1:?usage: backup.sh FOLDER}
to=${2:-$HOME/backups}
mkdir -p "$to"
tar -czf "$to/$(date +%Y-%m-%d).tar.gz" -C "$(dirname "$from")" "$(basename "$from")"
ls -1t "$to"/*.tar.gz | tail -n +8 | while read -r old; do
	rm -f "$old"
done
