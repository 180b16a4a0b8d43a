import { proof } from './proof.ts'

/** Tests of receipts, and of facts on the rows of a message. */
export const evidence = {
  receipts: proof(
    'evidence/receipts.test.ts',
    'answer every question of an auditor about an applied message',
  ),
  stored: proof('evidence/receipts.test.ts', 'of stored messages are found after a worker applied them'),
  ledger: proof(
    'evidence/message-facts.test.ts',
    'effects are found by message, business key and type, whenever they were recorded',
  ),
  held: proof(
    'evidence/message-facts.test.ts',
    'stored messages have their identities, and a lease its beginning',
  ),
  leases: proof(
    'store/lease-times.test.ts',
    'is shown for the buckets of a relay, and stays while it extends its lease',
  ),
}
