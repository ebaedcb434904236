const byteAmounts = /^(memory|storage|ephemeral-storage|hugepages-.*)$/;

type Amounts = Readonly<Record<string, { readonly string?: string }>>;

/** Adds notes on requests and limits of bytes that are no whole bytes. `at`: the path of the resources. */
export function noteFractions(
  notes: string[],
  at: () => string,
  resources: { readonly requests?: Amounts; readonly limits?: Amounts } | undefined,
): void {
  for (const part of ['requests', 'limits'] as const) {
    const amounts = resources?.[part];
    for (const name in amounts)
      if (byteAmounts.test(name)) noteFraction(notes, () => `${at()}.${part}[${name}]`, amounts[name]?.string);
  }
}

/** The note on one amount of bytes. Runs before validation, on whatever was written: a look at the text. */
export function noteFraction(notes: string[], at: () => string, text = ''): void {
  if (!text.endsWith('m') || Number(text.slice(0, -1)) % 1_000 === 0) return;
  notes.push(`${at()} is a fractional byte value: "${text}"; "m" is a thousandth of a byte, "Mi" a mebibyte`);
}
