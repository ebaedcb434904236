/** What one look at the machine came to: a line for people, and for what is not well how to mend it. */
export interface Check {
  readonly level: 'ok' | 'warn' | 'fail';
  readonly message: string;
  readonly advice?: string;
}

export const ok = (message: string): Check => ({ level: 'ok', message });
export const warn = (message: string, advice: string): Check => ({ level: 'warn', message, advice });
export const fail = (message: string, advice: string): Check => ({ level: 'fail', message, advice });
