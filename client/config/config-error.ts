/** The contexts file cannot be used; the message names the file and says what to do. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}
