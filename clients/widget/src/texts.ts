/** What the widget says, in the languages of Cairn. */
export interface Texts {
  title: string;
  label: string;
  ask: string;
  stop: string;
  working: string;
  done: string;
  unsure: string;
  unknown: string;
  sources: string;
  source: string;
  stopped: string;
  refused: string;
  missing: string;
  invalid: string;
  busy: string;
  broken: string;
  unreachable: string;
}

const TEXTS: Record<string, Texts> = {
  en: {
    title: "Ask the documents", label: "Your question", ask: "Ask", stop: "Stop", working: "Searching …", done: "Answered.",
    unsure: "Not sure: compare the sources.", unknown: "The documents do not say.", sources: "Sources", source: "Open source",
    stopped: "Stopped.",
    refused: "This page may not ask here.", missing: "What is asked here is not there.", invalid: "The question could not be taken.",
    busy: "Too much is asked just now; try again in a moment.", broken: "The server failed; try again later.",
    unreachable: "The server cannot be reached.",
  },
  fr: {
    title: "Interroger les documents", label: "Votre question", ask: "Demander", stop: "Arrêter", working: "Recherche …",
    done: "Réponse trouvée.", unsure: "Incertain : comparez les sources.", unknown: "Les documents ne le disent pas.",
    sources: "Sources", source: "Ouvrir la source", stopped: "Arrêté.",
    refused: "Cette page n’a pas le droit de poser de questions ici.", missing: "Ce qui est interrogé ici n’existe pas.",
    invalid: "La question n’a pas pu être prise.", busy: "Trop de questions en ce moment ; réessayez dans un instant.",
    broken: "Le serveur a échoué ; réessayez plus tard.", unreachable: "Le serveur est injoignable.",
  },
  de: {
    title: "Die Dokumente fragen", label: "Ihre Frage", ask: "Fragen", stop: "Anhalten", working: "Suche läuft …", done: "Beantwortet.",
    unsure: "Nicht sicher: bitte die Quellen vergleichen.", unknown: "Die Dokumente sagen es nicht.", sources: "Quellen",
    source: "Quelle öffnen", stopped: "Angehalten.",
    refused: "Diese Seite darf hier nicht fragen.", missing: "Was hier gefragt wird, gibt es nicht.",
    invalid: "Die Frage konnte nicht angenommen werden.", busy: "Es wird gerade zu viel gefragt; bitte gleich noch einmal versuchen.",
    broken: "Der Server ist gescheitert; bitte später noch einmal versuchen.", unreachable: "Der Server ist nicht zu erreichen.",
  },
  es: {
    title: "Preguntar a los documentos", label: "Su pregunta", ask: "Preguntar", stop: "Detener", working: "Buscando …",
    done: "Respondida.", unsure: "No es seguro: compare las fuentes.", unknown: "Los documentos no lo dicen.", sources: "Fuentes",
    source: "Abrir la fuente", stopped: "Detenido.",
    refused: "Esta página no puede preguntar aquí.", missing: "Lo que aquí se consulta no existe.",
    invalid: "No se ha podido aceptar la pregunta.", busy: "Hay demasiadas preguntas ahora; inténtelo dentro de un momento.",
    broken: "El servidor ha fallado; inténtelo más tarde.", unreachable: "No se puede alcanzar el servidor.",
  },
  it: {
    title: "Chiedere ai documenti", label: "La sua domanda", ask: "Chiedi", stop: "Ferma", working: "Ricerca in corso …",
    done: "Risposta trovata.", unsure: "Non sicuro: confronti le fonti.", unknown: "I documenti non lo dicono.", sources: "Fonti",
    source: "Apri la fonte", stopped: "Fermato.",
    refused: "Questa pagina non può fare domande qui.", missing: "Ciò che si interroga qui non esiste.",
    invalid: "Non è stato possibile accettare la domanda.", busy: "Ci sono troppe domande in questo momento; riprovi tra poco.",
    broken: "Il server non ci è riuscito; riprovi più tardi.", unreachable: "Il server non è raggiungibile.",
  },
};

/** Those of the first language that there is, by their codes. */
export function textsOf(languages: readonly string[]): [string, Texts] {
  const codes = languages.map((one) => one.slice(0, 2).toLowerCase());
  const code = codes.find((one) => one in TEXTS) ?? "en";
  return [code, TEXTS[code] as Texts];
}
