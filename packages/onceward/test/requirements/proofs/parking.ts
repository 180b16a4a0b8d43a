import { proof } from './proof.ts'

/** Tests of what operators do with held messages. */
export const parking = {
  sees: proof(
    'parking/operate.test.ts',
    'sees everything about a message: bytes, headers, attempts and acts',
  ),
  groups: proof('parking/operate.test.ts', 'lists by page and groups by cause'),
  fixes: proof(
    'parking/operate.test.ts',
    'fixes a payload: identity kept, both digests, diff shown, original kept, and then it is applied once',
  ),
  redrives: proof(
    'parking/operate.test.ts',
    'redrives a selection once, for any number of requests, and sees each outcome',
  ),
  neverTwice: proof(
    'parking/operate.test.ts',
    'never applies a message twice: applied before by its id, by its business key, or by hand',
  ),
  skips: proof(
    'parking/order.test.ts',
    'continues past a head that is skipped, which counts as a declared gap',
  ),
  keepsOrder: proof(
    'parking/order.test.ts',
    'keeps later messages behind it, lets other keys pass, and returns to live processing without a gap',
  ),
  approval: proof('parking/approval.test.ts', 'is required to delete, and may not be the requester'),
  audit: proof('parking/audit.test.ts', 'cannot be changed, shortened or truncated, not even by its owner'),
}
