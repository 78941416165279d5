// Package egress lets programs in a sandbox without a network of their own reach
// the hosts that its owner named, and nothing else: a proxy outside of the sandbox
// that judges each connection by name, looks names up itself, and opens no TLS.
//
// # What is held
//
// The sandbox has no way out but one listener, which the proxy serves: HTTP with
// CONNECT, plain HTTP, and SOCKS 5. A connection goes through when a rule names
// its host and port. An address instead of a name needs a rule with that very
// address, however it is written. A name may lead to addresses of the outside
// alone: what is private, of this machine or of the link is refused, so that no
// answer of a name server leads to a service beside Forge. Where TLS is spoken, the
// name in its first message has to be the one that was asked for.
//
// What is not held: what a named host does with what it is told, and which of the
// sites behind one name is spoken to inside of TLS.
package egress
