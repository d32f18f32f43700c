// Handlers by path in Go's ServeMux.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

func main() {
	mux := http.NewServeMux()
	for _, name := range []string{"admin/users", "admin", "api/v1", "api", "public"} {
		mux.HandleFunc("/"+name, answer(name))
		mux.HandleFunc("/"+name+"/", answer(name))
	}
	mux.HandleFunc("/", answer("other"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	http.Serve(listener, mux)
}

func answer(name string) http.HandlerFunc {
	return func(response http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(response, "handler %s\n", name)
	}
}
