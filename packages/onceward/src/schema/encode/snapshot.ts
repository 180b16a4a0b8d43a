/**
 * A copy that later changes of the value do not reach. Objects keep their prototypes and Buffers stay
 * Buffers: `structuredClone` loses both, and encoders need them. An object without fields of its own is not
 * copied.
 */
export function snapshot<V>(value: V): V {
  return copyOf(value) as V
}

function copyOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyOf)
  if (Buffer.isBuffer(value)) return Buffer.from(value)
  if (value instanceof Uint8Array) return Uint8Array.from(value)
  if (value instanceof Date) return new Date(value)
  const fields = Object.entries(value)
  if (fields.length === 0) return value
  const copy = Object.create(Object.getPrototypeOf(value) as object | null)
  for (const [name, field] of fields)
    Object.defineProperty(copy, name, {
      ...{ value: copyOf(field), enumerable: true, writable: true, configurable: true },
    })
  return copy
}
