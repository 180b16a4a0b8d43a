/** Repeats a failure with some of its messages; null if it does not fail, or the time is over. */
export type FailsWith<Message, Failure> = (messages: readonly Message[]) => Promise<Failure | null>

/**
 * Messages of which none can be left out, and the failure with them: each is left out once, and stays out if
 * the failure stays. Null if none can be left out.
 */
export async function fewestMessages<Message, Failure>(
  messages: readonly Message[],
  failsWith: FailsWith<Message, Failure>,
): Promise<{ readonly messages: readonly Message[]; readonly failure: Failure } | null> {
  let kept = messages
  let smallest: Failure | null = null
  // A message that was needed beside another one may not be needed after that one has left.
  for (let changed = true; changed && kept.length > 1; ) {
    changed = false
    for (const message of kept) {
      if (kept.length === 1) break
      const fewer = kept.filter(one => one !== message)
      const failure = await failsWith(fewer)
      if (failure === null) continue
      kept = fewer
      smallest = failure
      changed = true
    }
  }
  return smallest === null ? null : { messages: kept, failure: smallest }
}
