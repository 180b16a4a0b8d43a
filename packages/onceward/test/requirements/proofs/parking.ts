import { proof } from './proof.ts'

/** Tests of what operators do with held messages. */
export const parking = {
  sees: proof(
    'parking/operate.test.ts',
    'sees everything of one: bytes, headers, attempts and what people did',
  ),
  groups: proof('parking/operate.test.ts', 'lists by page and groups by cause'),
  fixes: proof(
    'parking/operate.test.ts',
    'fixes a payload: identity kept, both digests, diff shown, original kept, and then it is applied once',
  ),
  redrives: proof(
    'parking/operate.test.ts',
    'replays a selection once, however often the order is given, and knows what became of each',
  ),
  neverTwice: proof(
    'parking/operate.test.ts',
    'never applies what is applied: by its id, by its business key, or by hand in between',
  ),
  skips: proof(
    'parking/order.test.ts',
    'continues past a head that is skipped, which counts as a declared gap',
  ),
  keepsOrder: proof(
    'parking/order.test.ts',
    'keeps what comes later behind it, lets other keys pass, and goes back to the live flow without a gap',
  ),
  approval: proof('parking/approval.test.ts', 'is needed to delete, and may not be the one who asks'),
  audit: proof(
    'parking/audit.test.ts',
    'is neither changed nor shortened nor emptied, not even by its owner',
  ),
}
