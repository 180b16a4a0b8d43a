export function withExclusiveLock<T>(
  path: string,
  work: () => Promise<T> | T,
  onWait?: (holderPid: string) => void,
): Promise<T>
