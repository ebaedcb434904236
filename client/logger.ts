/** Where the client's loops report what no caller waits for. A pino logger is one. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

function write(level: string) {
  return (fields: object, message: string) => {
    const { err, ...rest } = fields as { err?: unknown };
    const cause = err === undefined ? '' : `: ${err instanceof Error ? err.message : String(err)}`;
    process.stderr.write(`${level} ${message}${cause} ${JSON.stringify(rest)}\n`);
  };
}

/** The logger of those who give none: warnings and errors, one line each on standard error. */
export const stderrLogger: Logger = { debug: () => {}, info: () => {}, warn: write('warn'), error: write('error') };
