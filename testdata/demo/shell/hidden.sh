git status || bash -c 'cd build; find . -name "*.tmp" -exec rm -fr {} +'
