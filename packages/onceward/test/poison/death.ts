export type Death = 'exit' | 'memory' | 'abort' | 'loop'

/** Ends this process in the way of a bad handler. */
export function die(how: Death): void {
  switch (how) {
    case 'exit':
      return process.exit(0)
    case 'abort':
      return process.abort()
    case 'memory': {
      const hoard: unknown[] = []
      for (;;) hoard.push(new Array(100_000).fill(hoard.length))
    }
    case 'loop':
      for (;;);
  }
}
