import type { StoreSession } from '../../ports/store.ts'

/** Every member by name, so that a member added to the port does not compile until it is delegated here. */
type Members<Tx> = { readonly [Name in keyof Required<StoreSession<Tx>>]: StoreSession<Tx>[Name] }

/** The session of a batch with some members replaced. All others are those of `inner`. */
export function overrideSession<Tx>(inner: StoreSession<Tx>, own: Partial<Members<Tx>>): StoreSession<Tx> {
  const members: Members<Tx> = {
    insertMarkers: (claims, as) => inner.insertMarkers(claims, as),
    blockedKeys: keys => inner.blockedKeys(keys),
    parkedTotal: () => inner.parkedTotal(),
    insertBusinessKeys: claims => inner.insertBusinessKeys(claims),
    handlerTransaction: shared => inner.handlerTransaction(shared),
    savepoint: inner.savepoint?.bind(inner),
    request: intents => inner.request(intents),
    publish: messages => inner.publish(messages),
    countAttempts: failures => inner.countAttempts(failures),
    withdrawAttempts: inner.withdrawAttempts?.bind(inner),
    conclude: conclusions => inner.conclude(conclusions),
    positions: partitions => inner.positions(partitions),
    advance: progress => inner.advance(progress),
    horizon: inner.horizon?.bind(inner),
    held: inner.held,
    givenUp: inner.givenUp?.bind(inner),
    givenUpElsewhere: inner.givenUpElsewhere,
    journal: inner.journal,
    ...own,
  }
  return members as StoreSession<Tx>
}
