/** Inside an array column the elements are texts to PostgreSQL's own reader: each is quoted. */
export function arrayLiteral(elements: readonly unknown[]): string {
  const quote = (element: unknown) => {
    if (element == null) return 'null'
    if (Array.isArray(element)) return arrayLiteral(element)
    const text = element instanceof Date ? element.toISOString() : String(element)
    return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
  }
  return `{${elements.map(quote).join(',')}}`
}
