# Options of a script.
set -- -v --name=x file1 file2
verbose=0 name=
while [ $# -gt 0 ]; do
  case $1 in
    -v) verbose=1; shift ;;
    --name=*) name=${1#*=}; shift ;;
    *) break ;;
  esac
done
echo "verbose=$verbose name=$name rest=$*"
while getopts 'ab:' o -a -b 3; do echo "$o ${OPTARG:-}"; done
