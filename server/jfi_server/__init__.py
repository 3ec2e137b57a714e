"""The server of jfi: `jfi-server start`, and compiled programs stay loaded.

It runs programs of the store on disk by their keys. On this machine it gets keys and
arrays, and no code; from others programs of `jax.export`. Table of contents:

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
    stored       arrays of clients that stay in it
    programs     what it has loaded
    addresses    ssh://, tls://, rpyc://
    _network     rpyc, locked down, with the same messages
    _remote      the server on the network: who may connect, what is answered
    code         Python functions of clients, where the owner allows them
    _remote_client  what a script uses: `RemoteClient`
    _ssh         the way through ssh, from both ends
    watch        calls nobody waits for, idleness, the log
    tables       what `status` and `list` print
    errors       what a call can end in

`import jfi` imports none of it, and `control` and `client` import neither jfi nor JAX.
"""
