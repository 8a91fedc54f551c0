# A copy changed.
printf 'host=localhost\nport=80\n' > app.conf
sed -e 's/localhost/example.com/' -e 's/^port=.*/port=8080/' app.conf > app.new
cat app.new
diff app.conf app.new | grep -c '^[<>]'
mv app.new app.conf
sed -n '2p' app.conf
