/** Whether the work resolved in time; false if it rejected. */
export async function within(work: Promise<unknown>, limitMs: number): Promise<boolean> {
  const { promise: tooLong, resolve } = Promise.withResolvers<false>()
  const timer = setTimeout(resolve, limitMs, false)
  const done = work.then(
    () => true,
    () => false,
  )
  return Promise.race([done, tooLong]).finally(() => clearTimeout(timer))
}
