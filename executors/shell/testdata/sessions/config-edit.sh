# A setting changed once.
printf 'debug=false\nlevel=1\n' > app.ini
set_key() {
  if grep -q "^$1=" app.ini; then sed -i "s|^$1=.*|$1=$2|" app.ini; else echo "$1=$2" >> app.ini; fi
}
set_key debug true; set_key color auto; set_key level 3
sort app.ini
