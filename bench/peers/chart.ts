/** A bar with its label, and a remark that stands behind the value. */
export interface Bar {
  readonly label: string
  readonly value: number
  readonly remark: string
  readonly kind: 'ours' | 'right' | 'wrong'
}

const width = 860
const labelWidth = 260
const barWidth = 360
const rowHeight = 24
const colours = { ours: '#2563eb', right: '#64748b', wrong: '#dc2626' }

/** Horizontal bars on one scale, as an SVG document that reads on light and dark pages. */
export function barChart(title: string, bars: readonly Bar[]): string {
  const most = Math.max(...bars.map(({ value }) => value))
  const rows = bars.map(({ label, value, remark, kind }, index) => {
    const top = 44 + index * rowHeight
    const length = Math.max(1, Math.round((value / most) * barWidth))
    const number = Math.round(value).toLocaleString('en-US')
    return [
      text(labelWidth - 8, top + 14, label, 'end'),
      `<rect x="${labelWidth}" y="${top + 2}" width="${length}" height="16" fill="${colours[kind]}"/>`,
      text(labelWidth + length + 6, top + 14, `${number}${remark === '' ? '' : `  ${remark}`}`, 'start'),
    ].join('\n')
  })
  const height = 44 + bars.length * rowHeight + 12
  return document(height, [text(12, 24, title, 'start'), ...rows])
}

function document(height: number, parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="13">
<rect width="${width}" height="${height}" fill="#ffffff"/>
${parts.join('\n')}
</svg>
`
}

function text(x: number, y: number, content: string, anchor: 'start' | 'end'): string {
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="#0f172a">${escaped}</text>`
}
