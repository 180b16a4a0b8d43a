export const guidBytes = 16

export function guidText(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    '-',
  )
}

export function guidOf(text: string): Buffer {
  const hex = text.replaceAll('-', '')
  if (!/^[0-9a-f]{32}$/i.test(hex)) throw new RangeError('a GUID has 32 hexadecimal digits')
  return Buffer.from(hex, 'hex')
}
