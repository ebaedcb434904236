/** What begins so among the file names of -f is the folder of a kustomization: no path holds this character. */
const mark = '\0';

/** The folder of `-k` as one of the file names that `readManifests` takes. */
export function kustomizationSource(folder: string): string {
  return `${mark}${folder}`;
}

/** The folder that a file name means; undefined for the name of a file. */
export function kustomizationFolder(source: string): string | undefined {
  return source.startsWith(mark) ? source.slice(mark.length) : undefined;
}
