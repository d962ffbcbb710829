// pod is what the pods of the tests run: a web server that says where it runs, reads a file and fetches a URL.
//
//	GET /healthz
//	GET /node             the value of NODE_NAME
//	GET /file?path=PATH   the content of a file in the container
//	GET /fetch?url=URL    what the container gets from there; 502 when it gets nothing
package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

func main() {
	// With a connection kept open, a Service would send every request to the same pod.
	client := &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	http.HandleFunc("/healthz", func(answer http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(answer, "ok\n")
	})
	http.HandleFunc("/node", func(answer http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(answer, os.Getenv("NODE_NAME"))
	})
	http.HandleFunc("/file", func(answer http.ResponseWriter, request *http.Request) {
		content, err := os.ReadFile(request.URL.Query().Get("path"))
		if err != nil {
			log.Print(err)
			http.Error(answer, err.Error(), http.StatusNotFound)
			return
		}
		_, _ = answer.Write(content)
	})
	http.HandleFunc("/fetch", func(answer http.ResponseWriter, request *http.Request) {
		response, err := client.Get(request.URL.Query().Get("url"))
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		answer.WriteHeader(response.StatusCode)
		_, _ = io.Copy(answer, response.Body)
	})
	log.Fatal(http.ListenAndServe(":8080", nil))
}
