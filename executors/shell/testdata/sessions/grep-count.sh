# Lines counted and named.
printf 'ERROR one\nINFO two\nERROR three\n' > app.log
grep -c ERROR app.log
grep -n INFO app.log
grep -v ERROR app.log
grep -q FATAL app.log || echo "no fatal"
