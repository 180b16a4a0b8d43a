/** Whether a statement opens a transaction of ours: each store names the run in its first statements. */
export const beginsRun = (text: string): boolean =>
  text.includes('onceward.run =') || text.includes("set_config('onceward.run'")
