/** The version of `package.json`; a test compares them. */
export const packageVersion = '0.1.0'
