# A step after another, with a log.
log() { printf '[%s] %s\n' "$1" "$2" | tee -a build.log; }
log INFO start
for step in lint test build; do
  if [ "$step" = test ]; then log WARN "slow: $step"; else log INFO "$step ok"; fi
done
grep -c INFO build.log
