/**
 * Full jitter: from zero to the doubled, capped delay. It spreads simultaneous retries better than a fixed
 * part.
 */
export function retryDelayMs(
  attempt: { readonly attempts: number; readonly random: number },
  policy: { readonly delayMs: number; readonly delayMaxMs: number; readonly jitter?: boolean },
): number {
  const ceiling = Math.min(policy.delayMaxMs, policy.delayMs * 2 ** Math.max(0, attempt.attempts - 1))
  return policy.jitter === false ? ceiling : Math.floor(attempt.random * ceiling)
}
