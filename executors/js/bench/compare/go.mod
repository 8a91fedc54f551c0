module github.com/ringd/ringd/executors/js/bench/compare

go 1.26.0

require github.com/ringd/ringd v0.0.0

require github.com/gowebpki/jcs v1.0.1 // indirect

replace github.com/ringd/ringd => ../../../..
