# The most frequent words.
printf 'b\na\nb\nc\nb\na\n' > words
sort words | uniq -c | sort -rn | awk '{print $2":"$1}'
sort -u words | paste -sd, -
