type Callable = (...given: unknown[]) => unknown

/** Puts another function in the place of one that handlers reach, made of the real one. */
export function replace(owner: object, name: string, make: (real: Callable) => Callable): void {
  const real = (Reflect.get(owner, name) as Callable).bind(owner)
  Object.defineProperty(owner, name, { value: make(real), configurable: true, writable: true })
}
