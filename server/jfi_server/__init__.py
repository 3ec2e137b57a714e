"""The server of jfi: `jfi-server start`, and compiled programs stay loaded.

It runs programs of the store on disk by their keys. It gets keys and arrays, and no
code. Table of contents:

    __main__     the command `jfi-server start|stop|restart|status|list|clear|logs|run`
    control      servers seen from outside: start one, ask it, end it
    folders      where a server's files are, closed to other users
    environment  what must agree between the two processes
    transport    messages over a unix socket: JSON, and bytes that it describes
    arenas       memory that both processes see, for large arrays
    arrays       arrays in messages
    client       what a script uses: `Client`
    server       the process: lock, socket, threads, end
    service      what it answers
    programs     what it has loaded
    watch        calls nobody waits for, idleness, the log
    tables       what `status` and `list` print
    errors       what a call can end in

`import jfi` imports none of it, and `control` and `client` import neither jfi nor JAX.
"""
