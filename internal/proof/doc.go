// Package proof tells what a change is proven by from what is to be proven. It
// is values alone: no file, process or clock.
//
// Survey reads a trusted state once. Its Map answers of every path, also of
// those that the trusted state does not have, whether it is product or
// evidence, and why; Mix says what stands there in the tree of trusted evidence
// and the snapshot's product. Product is an allow-list: source, assets and
// documents of an ecosystem that is known here, which the trusted state does
// not reach as evidence. What is unknown is evidence.
//
// Only the trusted state decides. What a snapshot says of itself (an import, a
// setting, a name) moves nothing from evidence to product; the content of a new
// file can only make it evidence.
//
// WeakerAll names what evidence lost between two states, Suppressions what new
// marks silence in product, TestAware the lines of product that ask whether
// they are under test.
//
// Beyond what the engine asks, IsTestFile tells by conventions of names alone.
package proof
