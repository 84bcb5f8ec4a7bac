module github.com/toolcrib/toolcrib/clients/go

go 1.24
