/** PostgreSQL parses the elements of an array literal as text, so each is quoted. */
export function arrayLiteral(elements: readonly unknown[]): string {
  const quote = (element: unknown) => {
    if (element == null) return 'null'
    if (Array.isArray(element)) return arrayLiteral(element)
    const text = element instanceof Date ? element.toISOString() : String(element)
    return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
  }
  return `{${elements.map(quote).join(',')}}`
}
