/** Objects a page, unless told otherwise: the server sends less when they are large. */
export const usualChunkSize = 500;
