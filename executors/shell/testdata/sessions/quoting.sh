# Words with blanks.
mkdir "a dir"; echo text > "a dir/a file.txt"
cat "a dir"/*.txt
ls "a dir"
f="a dir/a file.txt"; wc -c < "$f"
echo 'single $HOME' "double \$HOME" $'tab\there'
