/** Of the package, as `package.json` has it; a test compares. */
export const packageVersion = '0.1.0'
