// Sends requests, each with a body after its head, and prints how many were answered with the expected status.
// Arguments: PORT STATUS COUNT.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

func main() {
	status, _ := strconv.Atoi(os.Args[2])
	count, _ := strconv.Atoi(os.Args[3])
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}, Timeout: time.Minute}
	answered := 0
	for index := 0; index < count; index++ {
		reader, writer := io.Pipe()
		go func() {
			io.WriteString(writer, "01234")
			io.WriteString(writer, "56789")
			writer.Close()
		}()
		request, _ := http.NewRequest("POST", "http://127.0.0.1:"+os.Args[1]+"/", reader)
		request.ContentLength = 10
		response, err := client.Do(request)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if response.StatusCode == status {
			answered++
		}
	}
	fmt.Println(answered)
}
