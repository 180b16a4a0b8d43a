import type { StoreSession } from '../../ports/store-session.ts'

/** Every member by name, so that a member added to the port does not compile until it is delegated here. */
type Members<Tx> = { readonly [Name in keyof Required<StoreSession<Tx>>]: StoreSession<Tx>[Name] }

/** The session of a batch with some members replaced. All others are those of `inner`. */
export function overrideSession<Tx>(inner: StoreSession<Tx>, own: Partial<Members<Tx>>): StoreSession<Tx> {
  const members: Members<Tx> = {
    insertMarkers: (claims, as) => inner.insertMarkers(claims, as),
    handlerTransaction: shared => inner.handlerTransaction(shared),
    countAttempts: failures => inner.countAttempts(failures),
    conclude: conclusions => inner.conclude(conclusions),
    parkedTotal: () => inner.parkedTotal(),
    lockWrites: inner.lockWrites?.bind(inner),
    savepoint: inner.savepoint?.bind(inner),
    businessKeys: inner.businessKeys,
    receipts: inner.receipts,
    keyOrder: inner.keyOrder,
    outgoing: inner.outgoing,
    log: inner.log,
    held: inner.held,
    suspects: inner.suspects,
    history: inner.history,
    evidence: inner.evidence,
    campaign: inner.campaign,
    ...own,
  }
  return members as StoreSession<Tx>
}
